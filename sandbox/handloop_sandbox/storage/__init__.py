"""
The state: objects by collection, one resource version counter, the history that watches and lists continue
from. Knows nothing of what a kind means.
"""
