/**
 * What `promise` settles to within `ms`, else `late`. The promise is not cancelled; when it rejects later, nothing
 * hears of it.
 */
export async function within<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), ms)
  })
  try {
    return await Promise.race([promise, timeUp])
  } finally {
    clearTimeout(timer)
  }
}
