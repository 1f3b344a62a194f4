"""The live show: turn queue, worker, speech track, frame clock, latency book."""
