"""What watches over stored runs: the audit of what is on disk, and access to the vault."""
