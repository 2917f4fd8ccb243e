import assert from 'node:assert/strict'
import { runCommandLine } from '../../bin/command-line/run.ts'

type Settings = Record<string, string>

/** Commands in this process: a process of its own costs a quarter of a second. `more`: settings of one command. */
export function testCommands(settings: Settings) {
  const run = async (args: string, more: Settings = {}) => {
    const result = await runCommandLine([...args.split(' '), '--json'], { ...settings, ...more })
    assert(result !== null)
    return { code: result.exitCode ?? 0, json: result.json, text: result.text }
  }
  const succeeds = async (args: string, more?: Settings) => {
    const result = await run(args, more)
    assert.equal(result.code, 0, JSON.stringify(result.json))
    return result
  }
  const fails = async (exitCode: number, args: string, words: RegExp, more?: Settings) => {
    const { code, json } = await run(args, more)
    assert.deepEqual([code, Object.keys(json)], [exitCode, ['error']])
    assert.match(String(json['error']), words)
  }
  return {
    run,
    good: async (args: string, more?: Settings) => (await succeeds(args, more)).json,
    printed: async (args: string, more?: Settings) => (await succeeds(args, more)).text,
    /** The command line is right, and cannot be carried out. */
    refused: (args: string, words: RegExp, more?: Settings) => fails(1, args, words, more),
    /** The command line is wrong. */
    wrong: (args: string, words: RegExp) => fails(2, args, words),
  }
}
