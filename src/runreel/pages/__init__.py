"""Pages that stand alone: a comparison and a run as one HTML file each, safe to open whatever the run said."""
