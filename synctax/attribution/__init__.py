"""Who owes the wait: culprits of each collective, and what would change without them."""
