"""A folder of files on the sandbox and on another server: which answers differ."""
