import { FEATURES } from './features.ts'

/** A question of which nothing is heard for this long of the page's time has no answer. */
const SILENT_MS = 3_000

/** The corpus page that asks for every feature. Its answers are the lines of `answersOf`. */
export function probePage(): string {
  const asked = Object.values(FEATURES)
    .flatMap((group) => Object.entries(group))
    .map(([name, { ask }]) => `[${JSON.stringify(name)}, () => ${ask}]`)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>What this browser answers</title></head><body>
<h1>What this browser answers</h1><dl id="answers"></dl><script>
window.prerenderReady = false
const list = document.getElementById('answers')
const tell = (name, answer) => {
  const term = document.createElement('dt')
  const value = document.createElement('dd')
  term.textContent = name
  value.textContent = answer
  list.append(term, value)
}
const answerTo = async (ask) => {
  const silence = new Promise((resolve) => setTimeout(resolve, ${SILENT_MS}, 'no answer'))
  try {
    return String(await Promise.race([ask(), silence]))
  } catch (error) {
    return error.name
  }
}
Promise.all([
${asked.join(',\n')}
].map(async ([name, ask]) => tell(name, await answerTo(ask)))).then(() => {
  document.title = 'answered'
  window.prerenderReady = true
})
</script></body></html>`
}

/** The answers in a snapshot of the page, by the name of the feature. */
export function answersOf(html: string): Record<string, string> {
  const found = html.matchAll(/<dt>([\s\S]*?)<\/dt><dd>([\s\S]*?)<\/dd>/g)
  return Object.fromEntries([...found].map(([, name = '', answer = '']) => [decoded(name), decoded(answer)]))
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }

function decoded(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|nbsp);/g, (_entity, name: string) => ENTITIES[name] ?? '')
}
