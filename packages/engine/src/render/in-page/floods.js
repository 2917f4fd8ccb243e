// Work for processes that pages of all sites share. A page that asks for far more than pages need is refused: the calls
// reach these processes faster than Node could hear of them (bench/page-floods.ts).
{
  const { DOMException, TypeError: FetchError } = window
  // A frame has its own count, so less of it.
  const share = window === window.top ? 1 : 10
  const REQUESTS = 2_500 / share
  const CALLS = 1_000 / share

  /** @param {number} limit @returns {() => boolean} */
  const counter = (limit) => {
    let calls = 0
    return () => ++calls > limit
  }
  const nothing = () => undefined
  const fail = () => {
    throw new DOMException('Too many calls', 'QuotaExceededError')
  }
  const reject = () => Promise.reject(new DOMException('Too many calls', 'QuotaExceededError'))

  /**
   * @param {object | undefined} owner @param {readonly string[]} names @param {() => boolean} isOver
   * @param {() => unknown} refused
   */
  const limitCalls = (owner, names, isOver, refused) => {
    for (const name of names)
      intercept(owner, name, (native, self, given) => (isOver() ? refused() : apply(native, self, given)))
  }
  /** @param {object | undefined} owner @param {string} name @param {(self: *, given: *[]) => boolean} isOver */
  const limitSetter = (owner, name, isOver) => {
    const native = owner && Object.getOwnPropertyDescriptor(owner, name)
    const { set } = native ?? {}
    if (!owner || !set) return
    /** @param {*} self @param {*[]} given */
    const limited = (self, given) => (isOver(self, given) ? undefined : apply(set, self, given))
    const limitedSet = new Proxy(set, { apply: (_set, self, given) => limited(self, given) })
    Object.defineProperty(owner, name, { ...native, set: limitedSet })
  }
  /** @param {string} name @param {() => boolean} isOver */
  const limitObjects = (name, isOver) => {
    const Native = Reflect.get(window, name)
    if (Native === undefined) return
    /** @type {Function} */
    const Limited = new Proxy(Native, {
      construct: (target, given, newTarget) =>
        isOver() ? fail() : Reflect.construct(target, given, newTarget === Limited ? target : newTarget),
    })
    Object.defineProperty(window, name, { value: Limited, writable: true, configurable: true })
    Object.defineProperty(Native.prototype, 'constructor', {
      value: Limited,
      writable: true,
      configurable: true,
    })
  }

  limitCalls(console, Object.keys(console), counter(CALLS), nothing)
  const isErrorOver = counter(CALLS)
  for (const type of ['error', 'unhandledrejection'])
    nativeListen.call(window, type, (event) => {
      // Only errors that nothing handled are reported.
      if (event.target === window && isErrorOver()) event.preventDefault()
    })

  const isRequestOver = counter(REQUESTS)
  limitCalls(window, ['fetch'], isRequestOver, () => Promise.reject(new FetchError('Failed to fetch')))
  limitCalls(XMLHttpRequest.prototype, ['send'], isRequestOver, fail)
  limitCalls(Navigator.prototype, ['sendBeacon'], isRequestOver, () => false)
  for (const name of ['WebSocket', 'EventSource']) limitObjects(name, isRequestOver)
  limitObjects('Worker', counter(100 / share))
  limitObjects('SharedWorker', counter(20 / share))

  const isCallOver = counter(CALLS)
  const DIRECTORY = ['getFileHandle', 'getDirectoryHandle', 'removeEntry']
  limitCalls(window.CacheStorage?.prototype, ['open', 'match', 'has', 'keys', 'delete'], isCallOver, reject)
  limitCalls(window.IDBFactory?.prototype, ['open', 'deleteDatabase'], isCallOver, fail)
  limitCalls(window.Permissions?.prototype, ['query'], isCallOver, reject)
  limitCalls(window.Clipboard?.prototype, ['read', 'readText', 'write', 'writeText'], isCallOver, reject)
  limitCalls(window.LockManager?.prototype, ['query', 'request'], isCallOver, reject)
  limitCalls(
    window.StorageManager?.prototype,
    ['estimate', 'getDirectory', 'persist', 'persisted'],
    isCallOver,
    reject,
  )
  limitCalls(window.FileSystemDirectoryHandle?.prototype, DIRECTORY, isCallOver, reject)
  limitCalls(window.FileSystemFileHandle?.prototype, ['getFile', 'createWritable'], isCallOver, reject)
  limitCalls(
    Reflect.get(window, 'CookieStore')?.prototype,
    ['get', 'getAll', 'set', 'delete'],
    isCallOver,
    reject,
  )
  limitCalls(Storage.prototype, ['setItem', 'removeItem', 'clear'], counter(REQUESTS), fail)
  limitCalls(Element.prototype, ['requestFullscreen', 'requestPointerLock'], counter(100 / share), reject)
  limitCalls(window.BroadcastChannel?.prototype, ['postMessage'], counter(10_000 / share), nothing)
  limitSetter(Document.prototype, 'cookie', counter(CALLS))
  limitSetter(Document.prototype, 'title', counter(CALLS))
  const isIconCallOver = counter(CALLS)
  /** @param {*} link @param {*[]} given */
  const isIconOver = (link, given) =>
    [link.rel, ...given].some((value) => /icon/i.test(value)) && isIconCallOver()
  for (const name of ['href', 'rel']) limitSetter(HTMLLinkElement.prototype, name, isIconOver)
  // Only for links: all other elements keep the native method.
  const setAttribute = Object.getOwnPropertyDescriptor(Element.prototype, 'setAttribute') ?? {}
  Object.defineProperty(HTMLLinkElement.prototype, 'setAttribute', setAttribute)
  intercept(HTMLLinkElement.prototype, 'setAttribute', (native, self, given) =>
    isIconOver(self, given) ? undefined : apply(native, self, given),
  )
}
