import type { TestRenderer } from '../../support/renderer.ts'
import { answersOf, probePage } from './probe.ts'

/** What a render answers to the probe page. */
export async function renderAnswers(renderer: TestRenderer): Promise<Record<string, string>> {
  renderer.routes.set('/', probePage())
  renderer.routes.set('/probe.json', (_request, response) => void response.end('{}'))
  return answersOf(await renderer.html('/'))
}
