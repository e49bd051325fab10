"""Identifiers that a server makes up (of Bundles, of searches), made from what happened instead of by chance."""

from __future__ import annotations

import uuid

_NAMESPACE = uuid.UUID("0f6d6c1e-3d3c-4e5c-8a57-7f0d5f6a1c11")


def token(*parts: object) -> str:
    """A UUID that is the same for the same parts."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(map(str, parts))))
