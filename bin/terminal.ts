import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

import { CommandError } from './command.ts'

/** Longer than any password that is allowed; what is piped in by mistake is not read whole. */
const STDIN_LIMIT_CHARS = 4_096

/** Whether a person is there to be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/** Asks on the terminal without showing what is typed. Ctrl-C and Ctrl-D give up. */
export function askHidden(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  process.stderr.write(question)
  return new Promise((resolve, reject) => {
    let answered = false
    lines.question('', (answer) => {
      answered = true
      lines.close()
      resolve(answer)
    })
    lines.on('close', () => {
      process.stderr.write('\n')
      if (!answered) reject(new CommandError('Given up at the prompt: nothing was done'))
    })
  })
}

/** Everything on stdin without its last line break: `--password-stdin <<< "..."`. */
export async function readStdin(): Promise<string> {
  const all = await text(process.stdin)
  if (all.length > STDIN_LIMIT_CHARS) {
    throw new CommandError(`stdin has more than ${STDIN_LIMIT_CHARS} characters`)
  }
  return all.replace(/\r?\n$/, '')
}

/** A bar on stderr that redraws itself in place, for people at a terminal. */
export function progressBar(): { update(finished: number, total: number): void; end(): void } {
  const width = 30
  return {
    update(finished, total) {
      const filled = total === 0 ? 0 : Math.floor((finished / total) * width)
      const bar = '█'.repeat(filled) + '░'.repeat(width - filled)
      // The total can shrink: what was longer before is cleared to the end of the line.
      process.stderr.write(`\r${bar} ${finished} of ${total}\u001b[K`)
    },
    end: () => process.stderr.write('\n'),
  }
}
