"""client-go's controller machinery, written by hand in Python."""
