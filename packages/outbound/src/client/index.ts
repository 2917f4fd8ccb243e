/** The door to the HTTP client that asks origins. */
export { type AnswerHead, HeadTooLarge } from './answer-reader.ts'
export { OriginCall, OriginSilent, type RequestBody, type TakeCall } from './call.ts'
export { createClient, type OriginPool } from './pool.ts'
export { type OriginResponse, type SentRequest, sendRequest } from './request.ts'
