import { type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Structured lines on stderr: stdout belongs to the answers of commands and to
 * the one `ready` line. Whatever could carry a secret is cut out by name.
 */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
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
    pino.destination({ fd: 2, sync: true }),
  )
}

/** For tests and for commands that talk to a person instead. */
export function silentLog(): Log {
  return pino({ level: 'silent' })
}
