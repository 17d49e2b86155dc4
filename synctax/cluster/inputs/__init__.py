"""Clusters, jobs and pools of workloads, as users write them down."""
