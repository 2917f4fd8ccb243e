import { endAtOnce } from './node/shutdown.ts'

const args = process.argv.slice(2)
// Before all that takes a moment to load, so that there is none in which a signal counts as a crash.
if (args[0] === 'serve' || args[0] === 'demo') endAtOnce()

// `prepaint cache list | head`: the reader has seen enough.
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
