"""Which servers a job gets: four policies that are built in, and one's own."""
