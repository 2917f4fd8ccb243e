export default { telemetry: false, devtools: { enabled: false }, experimental: { payloadExtraction: false } }
