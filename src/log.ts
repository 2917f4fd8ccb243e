import { type DestinationStream, type Logger, pino } from 'pino'

import { readableLine } from './readable-line.ts'

export type Log = Logger

/**
 * Structured lines on stderr: stdout belongs to the answers of commands and to
 * the one `ready` line. A person at a terminal gets the same in words.
 * Whatever could carry a secret is cut out by name; of an address, what stands
 * behind its `?`: people are sent links with all they need to be believed.
 */
export function createLog(level: string, forPerson = process.stderr.isTTY === true): Log {
  const lines = pino.destination({ fd: 2, sync: true })
  const words: DestinationStream = { write: (line) => void lines.write(readableLine(line)) }
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
    forPerson ? words : lines,
  )
}

function withoutQuery(url: unknown): unknown {
  return typeof url === 'string' ? url.split('?', 1)[0] : url
}

/** For tests and for commands that talk to a person instead. */
export function silentLog(): Log {
  return pino({ level: 'silent' })
}
