"""Text to tokens and back: tokenizer.json by Hugging Face's `tokenizers`, the chat's template by Jinja."""

import json
import pathlib

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


class Text:
    """The tokenizer of a checkpoint's folder.

    The template is that of chat_template.jinja or tokenizer_config.json; without one a line for each
    message, `role: content`.
    """

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        path = folder / "tokenizer_config.json"
        self._settings = json.loads(path.read_text()) if path.exists() else {}
        file = folder / "chat_template.jinja"
        source = file.read_text() if file.exists() else self._settings.get("chat_template", PLAIN)
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        self._template = environment.from_string(source)

    def encode(self, text):
        """Tokens with what the tokenizer adds before and after."""
        return self._tokenizer.encode(text).ids

    def chat(self, messages):
        """Tokens of a conversation up to where the assistant speaks; the template adds what is special."""
        try:
            text = self._template.render(
                messages=messages,
                add_generation_prompt=True,
                bos_token=self._special("bos_token"),
                eos_token=self._special("eos_token"),
            )
        except TemplateError as error:
            raise ValueError(f"the chat's template refuses: {error}") from None
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens):
        return self._tokenizer.decode(tokens, skip_special_tokens=True)

    def _special(self, name):
        value = self._settings.get(name) or ""
        return value["content"] if isinstance(value, dict) else value


def _refuse(message):
    """What templates call where messages are not as they want them."""
    raise TemplateError(message)


class Stream:
    """The text of tokens as they come: whole characters alone, up to the first of some stop strings.

    What may yet become a stop string is held back. `text` is all that was given out.
    """

    def __init__(self, text, stops=()):
        self._text, self._stops = text, tuple(stops)
        self._tokens, self.text, self.stopped = [], "", False

    def push(self, token):
        """The new text that one more token gives, often ""."""
        self._tokens.append(token)
        whole = self._text.decode(self._tokens).rstrip("\ufffd")
        return self._give(whole, hold=True)

    def end(self):
        """What was held back; half a character becomes U+FFFD."""
        return "" if self.stopped else self._give(self._text.decode(self._tokens), hold=False)

    def _give(self, whole, hold):
        if self.stopped:
            return ""
        found = [at for at in (whole.find(s) for s in self._stops) if at >= 0]
        if found:
            self.stopped, whole = True, whole[: min(found)]
        elif hold:
            held = (
                n for s in self._stops for n in range(len(s) - 1, 0, -1) if whole.endswith(s[:n])
            )
            whole = whole[: len(whole) - max(held, default=0)]
        new = whole[len(self.text) :]
        self.text += new
        return new
