"""Every message on the wire, one module per dialect; imports pydantic only.

`listen`: streaming speech to text in Deepgram's dialect (`WS /v1/listen`).
`speak`: streaming text to speech in Cartesia's dialect (`WS /tts/websocket`, `POST /tts/bytes`).
`rest`: OpenAI's REST audio API and the server's own small answers.
"""
