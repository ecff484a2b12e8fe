"""The rows of the bench, one module a group; each is measured in a process of its own."""
