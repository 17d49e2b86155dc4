"""Which of the jobs that wait may start: in order of arrival, or past those that cannot."""
