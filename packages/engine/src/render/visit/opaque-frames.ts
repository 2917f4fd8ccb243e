import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import { makeWorld } from './snapshot.ts'

/** Frames that hold a document of the page's own: no client could load it. */
const WITHOUT_ADDRESS = /^(?:about:|blob:|data:)/
const FRAMES_LIMIT = 10
const HTML_LIMIT_CHARS = 1_000_000

/**
 * Frames without an address, for those whose document the page itself may not read: sandboxed ones and `data:`. All
 * others are written by in-page/snapshot.js.
 */
export class OpaqueFrames {
  readonly #frameIds = new Set<string>()

  readonly listeners: CdpListeners = {
    'Page.frameNavigated': ({ frame: { id, parentId, url } }) => {
      const isInline = parentId !== undefined && WITHOUT_ADDRESS.test(url)
      if (isInline && this.#frameIds.size < FRAMES_LIMIT) this.#frameIds.add(id)
      else this.#frameIds.delete(id)
    },
    'Page.frameDetached': ({ frameId }) => {
      this.#frameIds.delete(frameId)
    },
  }

  /** Writes the documents into `srcdoc` of their frames. `world` is ours in the page's document. */
  async writeInto(session: CdpSession, world: number): Promise<void> {
    for (const frameId of this.#frameIds) {
      // A frame that is gone by now has no words.
      await writeFrame(session, world, frameId).catch(() => {})
    }
  }

  get isEmpty(): boolean {
    return this.#frameIds.size === 0
  }
}

async function writeFrame(session: CdpSession, world: number, frameId: string): Promise<void> {
  const { backendNodeId } = await session.send('DOM.getFrameOwner', { frameId })
  const { object } = await session.send('DOM.resolveNode', { backendNodeId, executionContextId: world })
  if (object.objectId === undefined) return
  const { result: readable } = await session.send('Runtime.callFunctionOn', {
    objectId: object.objectId,
    functionDeclaration: `function () { return this.localName !== 'iframe' || this.contentDocument !== null }`,
    returnByValue: true,
  })
  if (readable.value !== false) return
  const { result } = await session.send('Runtime.evaluate', {
    expression: `document.documentElement.outerHTML.slice(0, ${HTML_LIMIT_CHARS})`,
    contextId: await makeWorld(session, frameId),
    returnByValue: true,
  })
  await session.send('Runtime.callFunctionOn', {
    objectId: object.objectId,
    functionDeclaration: `function (html) { this.setAttribute('srcdoc', html) }`,
    arguments: [{ value: result.value }],
  })
}
