"""Fakes for tests of what is built on Alfred: models that answer from a script or a recording.

Both implement `alfred.engine.language_model.LanguageModel`; hand one to `alfred.app.Ports`.
"""

from __future__ import annotations

from alfred.models.recorded import RecordedModel
from alfred.models.scripted import ScriptedModel

__all__ = ["RecordedModel", "ScriptedModel"]
