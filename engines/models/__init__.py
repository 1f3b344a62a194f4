"""One module per model family: how its files become graphs, which shapes move, how its sessions are driven."""
