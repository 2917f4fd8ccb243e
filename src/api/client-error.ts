import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

import { AppError, type ErrorCode, publicError } from '../errors.ts'

const CLIENT_ERRORS: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** For what is not even HTTP: there is no request yet, so the answer is written by hand. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  socket.end(errorMessage(CLIENT_ERRORS[error.code ?? ''] ?? 'malformed_request'))
}

/** An error as it goes over the wire; the connection ends with it. */
export function errorMessage(code: ErrorCode): string {
  const { status, body } = publicError(new AppError(code))
  const text = JSON.stringify(body)
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(text)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${text}`
  )
}
