/** What a new password must be. Server and dashboard judge by the same library. */

export const PASSWORD_MIN_CHARS = 10
export const PASSWORD_MAX_CHARS = 128

/** Of 0 to 4. A password with a lower score is refused. */
export const PASSWORD_LEAST_SCORE = 2

type Judge = { check(password: string, words: string[]): { score: number } }

let judge: Promise<Judge> | null = null

/**
 * Estimates from 0 to 4 how hard a password is to guess. `words` are what a guesser knows of the person. Loads the library and
 * its lists at the first call (0.3 s, 35 MB).
 */
export async function passwordScore(password: string, words: readonly string[]): Promise<number> {
  judge ??= loadJudge().catch((error: unknown) => {
    judge = null
    throw error
  })
  return (await judge).check(password.normalize('NFKC'), words.flatMap(partsOf)).score
}

async function loadJudge(): Promise<Judge> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })
}

/** An address is a word, and so are its parts. */
function partsOf(word: string): string[] {
  return [word, ...word.split(/[^\p{L}\p{N}]+/u)].filter((part) => part.length > 2)
}

export function passwordChars(password: string): number {
  return [...password.normalize('NFKC')].length
}
