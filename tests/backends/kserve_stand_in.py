def answer_kserve(handler, asked):
    handler.say(404, {"error": "not yet"})
