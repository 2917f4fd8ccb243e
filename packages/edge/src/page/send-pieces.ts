import type { EdgeResponse } from '../server/exchange.ts'

/** Sends a body in pieces, as fast as the client takes them. Breaks the response off if the pieces fail. Never rejects. */
export async function sendPieces(pieces: AsyncIterable<Buffer | string>, res: EdgeResponse): Promise<void> {
  try {
    for await (const piece of pieces) {
      if (res.destroyed) return
      if (!res.write(piece)) await hasRoom(res)
    }
    res.end()
  } catch {
    res.destroy()
  }
}

/** Resolves also when the client has left. */
function hasRoom(res: EdgeResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      res.off('drain', end).off('close', end)
      resolve()
    }
    res.on('drain', end).on('close', end)
    if (res.destroyed) end()
  })
}
