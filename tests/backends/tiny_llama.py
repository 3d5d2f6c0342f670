"""A random two-layer Llama as a folder for Hugging Face's transformers: its server starts it, and it babbles.

Its words are 64 of three letters, which it answers with; everything else that is asked is `<unk>`.
"""

import itertools

CHAT = "{% for each in messages %}{{ each['content'] }} {% endfor %}"


def tiny_llama(folder):
    """Write the folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = [f"{first}a{last}" for first, last in itertools.product("bdfgklmp", "nrstlmxd")]
    known = {word: place for place, word in enumerate(["<unk>", "<s>", "</s>", *words])}
    plain = Tokenizer(models.WordLevel(known, "<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, chat_template=CHAT, **marks)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(known),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.lm_head.weight[: len(known) - len(words)] = 0  # only words are ever answered
    model.save_pretrained(folder)
