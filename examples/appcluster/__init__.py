"""An operator: an AppCluster keeps a number of Pods of its own."""
