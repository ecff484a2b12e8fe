"""The providers' wire protocols: requests as an agent sends them, answers as it expects them, from the record."""

from runreel.replay.wire.values import HttpRequest, HttpResponse, ModelAnswer, ModelError, ModelRequest

__all__ = ["HttpRequest", "HttpResponse", "ModelAnswer", "ModelError", "ModelRequest"]
