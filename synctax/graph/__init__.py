"""What had to happen before what on each rank."""
