"""Models as engines: catalogue and fetcher, graph building per model family, runtimes behind one ``Session``.

Knows nothing of the idol. Heavy imports (onnx, onnxruntime, tensorrt) happen inside functions.
"""
