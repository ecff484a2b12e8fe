"""What spans mean: the record's fields, the dialects that carry them, and the shapes of their content."""
