"""Digest of a table, written from storage/README.md with plain loops."""

import hashlib
import json
import math
import struct


def store_digest(header, X, Y, split):
    """X, Y, split: lists of rows of Python numbers."""
    streams = [hashlib.sha256() for _ in range(5)]
    for values, labels, part in zip(X, Y, split, strict=True):
        streams[0].update(bytes(labels))
        streams[1].update(bytes([part]))
        entries = [(f, v) for f, v in enumerate(values) if v != 0]
        streams[2].update(struct.pack("<q", len(entries)))
        for f, v in entries:
            streams[3].update(struct.pack("<I", f))
            nan = bytes.fromhex("000000000000f87f")
            streams[4].update(nan if math.isnan(v) else struct.pack("<d", v))
    costs = header.feature_cost
    head = {
        "categories": {str(f): list(v) for f, v in header.categories.items()},
        "costs": None if costs is None else [c.hex() for c in costs.tolist()],
        "features": list(header.feature_names),
        "kinds": header.feature_kind.tolist(),
        "labels": list(header.label_names),
    }
    text = json.dumps(head, separators=(",", ":"), sort_keys=True)
    whole = hashlib.sha256(b"mlfs-digest-1")
    whole.update(hashlib.sha256(text.encode()).digest())
    for stream in streams:
        whole.update(stream.digest())
    return whole.hexdigest()
