import { exitOnSignal } from './node/shutdown.ts'

const args = process.argv.slice(2)
// First, so that a signal during loading never counts as a crash.
if (args[0] === 'serve' || args[0] === 'demo') exitOnSignal()

// `prepaint cache list | head` closes the pipe early.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

const { runCommandLine } = await import('./command-line/run.ts')
const result = await runCommandLine(args)
if (result !== null) {
  const printed = args.includes('--json') ? JSON.stringify(result.json) : result.text
  if (printed !== '') await new Promise((resolve) => process.stdout.write(`${printed}\n`, resolve))
}
process.exit(result?.exitCode ?? 0)
