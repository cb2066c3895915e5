"""EvalScope's constants by EvalScope's names, so that its snippets run with one word changed.

Only the values that mean something here are more than names; `mmscore.evalscope` says which.
"""

from __future__ import annotations


class EvalType:
    """How a model is reached; here it is `OPENAI_API`."""

    OPENAI_API = "openai_api"
    SERVICE = "openai_api"
    CHECKPOINT = "llm_ckpt"
    MOCK_LLM = "mock_llm"
    CUSTOM = "custom"
    TEXT2IMAGE = "text2image"
    TEXT2SPEECH = "text2speech"
    IMAGE_EDITING = "image_editing"
    SYSTEMONE_API = "systemone_api"
    AUTOTRUST_API = "autotrust_api"
    OPENAI_RESPONSES_API = "openai_responses_api"
    ANTHROPIC_API = "anthropic_api"
    LITELLM = "litellm"


class EvalBackend:
    """Whose configuration a task is in: `NATIVE` or `VLM_EVAL_KIT`."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


class HubType:
    """Where data sets come from."""

    MODELSCOPE = "modelscope"
    HUGGINGFACE = "huggingface"
    LOCAL = "local"


class JudgeStrategy:
    """When a judge model is asked."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"
