"""An operator that keeps the wanted number of Pods running for each AppCluster."""
