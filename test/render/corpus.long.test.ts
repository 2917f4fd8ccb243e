/** Pages that are hard to render, each with what has to come of it. test/render/corpus/ has them by subject. */
import { CORPUS } from './corpus.ts'
import { testCorpus } from './corpus-run.ts'

await testCorpus(CORPUS)
