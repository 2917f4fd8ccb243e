import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/** Logs JSON on stderr, or readable lines at a terminal. Redacts secrets by field name and removes query strings (tokens). */
export function createLog(level: string, readable = process.stderr.isTTY === true): Log {
  const lines = pino.destination({ fd: 2, sync: true })
  const words: DestinationStream = {
    write(line) {
      lines.write(readableLine(line))
    },
  }
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { url: withoutQuery, target: withoutQuery, path: withoutQuery },
      redact: {
        paths: [
          '*.authorization',
          '*["x-api-key"]',
          '*["x-prerender-token"]',
          '*.cookie',
          '*.password',
          '*.key',
          '*.token',
        ],
        censor: '[secret]',
      },
    },
    readable ? words : lines,
  )
}

function withoutQuery(url: unknown): unknown {
  return typeof url === 'string' ? url.split('?', 1)[0] : url
}

export function silentLog(): Log {
  return pino({ level: 'silent' })
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warning',
  50: 'error',
  60: 'fatal',
}

/** Writes the time (UTC), the level unless it is `info`, message and fields. An error's stack follows on its own lines. */
export function readableLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const { message, stack } = typeof err === 'object' && err !== null ? (err as Record<string, unknown>) : {}
  const cause = message ?? err
  const name = LEVELS[Number(level)] ?? String(level)
  const shownLevel = name === 'info' ? '' : ` ${name}:`
  let words = `${String(time).slice(11, 19)}${shownLevel} ${printable(msg ?? '')}`
  if (cause !== undefined) words += `: ${printable(cause)}`
  const details = Object.entries(fields).map(([field, value]) => `${field} ${printable(value)}`)
  const trace = typeof stack === 'string' && Number(level) >= 50 ? `\n${printable(stack, true)}` : ''
  return `${words}${details.length === 0 ? '' : ` (${details.join(', ')})`}${trace}\n`
}

/** Escapes control characters: logged text must not control the terminal. */
function printable(value: unknown, keepLines = false): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.replace(/\p{Cc}/gu, (character) =>
    keepLines && character === '\n'
      ? character
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
