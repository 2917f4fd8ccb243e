import { runCommandLine } from './run-command-line.ts'

const args = process.argv.slice(2)

// `prepaint cache list | head`: the reader has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

const result = await runCommandLine(args)
if (result !== null) {
  const printed = args.includes('--json') ? JSON.stringify(result.json) : result.text
  if (printed !== '') await new Promise((resolve) => process.stdout.write(`${printed}\n`, resolve))
}
process.exit(result?.exitCode ?? 0)
