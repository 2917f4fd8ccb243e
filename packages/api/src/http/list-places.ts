import { type AppError, invalidField } from '@prepaint/contract/errors.ts'

/** Where the next part of a list begins, as the text of `next` that clients send back as `after`. */
export function writePlaceText(values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url')
}

/** Returns the values of a text that `writePlaceText` made, or none. Clients can send any text. */
export function readPlaceText(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

export function notNext(cause?: Error): AppError {
  return invalidField(['after'], 'is not the "next" of a list in this order', { cause })
}
