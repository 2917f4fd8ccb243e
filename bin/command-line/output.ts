import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandError } from './command.ts'

type Column = string | { heading: string; right: true }

/** Returns `none` if there are no rows. Replaces control characters in customers' names, which could move the cursor. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  none: string,
): string {
  if (rows.length === 0) return none
  const headings = columns.map((column) => (typeof column === 'string' ? column : column.heading))
  const lines = [headings, ...rows.map((row) => row.map(printable))]
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => (line[at] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, at) =>
          typeof columns[at] === 'string' ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function fields(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

const STDIN_LIMIT_CHARS = 4_096

export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Prompts without echo. `next` gets each answer and returns the next question, or null. Ctrl-C and Ctrl-D cancel. */
export async function askHidden(question: string, next: (answer: string) => string | null): Promise<void> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  const answers = lines[Symbol.asyncIterator]()
  try {
    for (let asked: string | null = question; asked !== null; ) {
      process.stderr.write(asked)
      const answer = await answers.next()
      process.stderr.write('\n')
      if (answer.done === true) throw new CommandError('Cancelled at the prompt: nothing was done')
      asked = next(answer.value)
    }
  } finally {
    lines.close()
  }
}

export async function readStdin(): Promise<string> {
  const all = await text(process.stdin)
  if (all.length > STDIN_LIMIT_CHARS) {
    throw new CommandError(`stdin has more than ${STDIN_LIMIT_CHARS} characters`)
  }
  return all.replace(/\r?\n$/, '')
}

const BAR_CHARS = 30

export function progressBar(finished: number, total: number): string {
  const filled = total === 0 ? 0 : Math.floor((finished / total) * BAR_CHARS)
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_CHARS - filled)} ${finished} of ${total}`
}

/** Each text replaces the one before it. */
export function progressLine(): { update(text: string): void; end(): void } {
  return {
    update(text) {
      const width = (process.stderr.columns ?? 80) - 1
      process.stderr.write(`\r${text.slice(0, width)}\u001b[K`)
    },
    end: () => process.stderr.write('\n'),
  }
}
