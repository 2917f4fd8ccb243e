import { z } from 'zod'

const LIST_LIMIT_CHARS = 1_000

/** Values with commas between them, as filters of lists have them. A parameter that is given twice is one list. */
export function commaList<Value extends z.ZodType<unknown, string>>(value: Value) {
  return z.coerce
    .string()
    .max(LIST_LIMIT_CHARS)
    .transform((text) => text.split(','))
    .pipe(z.array(value))
}
