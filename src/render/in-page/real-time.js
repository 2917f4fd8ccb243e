// Runs first in every document. Some things take real time and do not hold
// Chromium's virtual clock: data bases, caches, cryptography, workers. The
// clock would run out while a page waits for one of them, so each is told to
// Node when it begins and when it ends.
;(() => {
  const { then } = Promise.prototype
  const { addEventListener } = EventTarget.prototype
  /** @type {(word: string) => void} */
  const tell = Reflect.get(window, 'prepaintTell') ?? (() => {})

  let open = 0
  const began = () => {
    if (++open === 1) tell('busy')
  }
  const ended = () => {
    if (--open === 0) tell('idle')
  }

  /**
   * Wraps methods of `owner`, where there is one; `follow` learns what each call gave, and whose it was.
   * @template Result
   * @param {object | undefined} owner
   * @param {readonly string[]} names
   * @param {(result: Result, self: object) => void} follow
   */
  const wrap = (owner, names, follow) => {
    if (owner === undefined) return
    for (const name of names) {
      const native = Reflect.get(owner, name)
      if (typeof native !== 'function') continue
      const wrapped = {
        /** @param {unknown[]} given */
        [name](...given) {
          const result = Reflect.apply(native, this, given)
          follow(result, this)
          return result
        },
      }[name]
      Object.defineProperty(wrapped, 'length', { value: native.length, configurable: true })
      Object.defineProperty(owner, name, {
        value: wrapped,
        writable: true,
        configurable: true,
        enumerable: true,
      })
    }
  }

  /** @param {unknown} result */
  const untilSettled = (result) => {
    if (!(result instanceof Promise)) return
    began()
    then.call(result, ended, ended)
  }
  // Bodies of answers are another matter: the clock stands until their last byte has come,
  // but may be off before the page has read it.
  let reading = 0
  const readEnded = () => {
    if (--reading === 0) tell('read')
  }
  /** @param {Promise<unknown>} result */
  const untilRead = (result) => {
    if (++reading === 1) tell('reading')
    then.call(result, readEnded, readEnded)
  }
  // Read piece by piece, an answer has no such end: only a while after its last byte is a read waited for.
  let draining = 0
  const drainEnded = () => {
    if (--draining === 0) tell('drained')
  }
  /** @param {unknown} result */
  const untilDrained = (result) => {
    if (!(result instanceof Promise)) return
    if (++draining === 1) tell('draining')
    then.call(result, drainEnded, drainEnded)
  }
  /** @param {readonly string[]} events @returns {(target: EventTarget) => void} */
  const untilOneOf = (events) => (target) => {
    let isOpen = true
    const end = () => {
      if (isOpen) ended()
      isOpen = false
    }
    began()
    for (const event of events) addEventListener.call(target, event, end)
  }

  const { IDBFactory, IDBDatabase, CacheStorage, Cache, SubtleCrypto, StorageManager, Permissions } = window
  wrap(window.Response?.prototype, ['json', 'text', 'arrayBuffer', 'blob', 'bytes', 'formData'], untilRead)
  wrap(window.ReadableStreamDefaultReader?.prototype, ['read'], untilDrained)
  wrap(window.ReadableStreamBYOBReader?.prototype, ['read'], untilDrained)
  wrap(window.ReadableStream?.prototype, ['pipeTo'], untilDrained)
  wrap(Object.getPrototypeOf(new ReadableStream().values()), ['next'], untilDrained)
  wrap(IDBFactory?.prototype, ['open', 'deleteDatabase'], untilOneOf(['success', 'error', 'blocked']))
  wrap(IDBFactory?.prototype, ['databases'], untilSettled)
  wrap(IDBDatabase?.prototype, ['transaction'], untilOneOf(['complete', 'abort', 'error']))
  wrap(CacheStorage?.prototype, ['open', 'match', 'has', 'keys', 'delete'], untilSettled)
  wrap(Cache?.prototype, ['add', 'addAll', 'match', 'matchAll', 'put', 'keys', 'delete'], untilSettled)
  wrap(
    SubtleCrypto?.prototype,
    ['digest', 'sign', 'verify', 'encrypt', 'decrypt', 'generateKey', 'importKey', 'exportKey'],
    untilSettled,
  )
  wrap(SubtleCrypto?.prototype, ['deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey'], untilSettled)
  wrap(StorageManager?.prototype, ['estimate', 'getDirectory', 'persist', 'persisted'], untilSettled)
  wrap(
    window.FileSystemDirectoryHandle?.prototype,
    ['getFileHandle', 'getDirectoryHandle', 'removeEntry'],
    untilSettled,
  )
  wrap(window.FileSystemFileHandle?.prototype, ['getFile', 'createWritable'], untilSettled)
  wrap(Permissions?.prototype, ['query'], untilSettled)
  wrap(Reflect.get(window, 'NavigatorUAData')?.prototype, ['getHighEntropyValues'], untilSettled)
  wrap(Reflect.get(window, 'CookieStore')?.prototype, ['get', 'getAll', 'set', 'delete'], untilSettled)
  wrap(window.ServiceWorkerContainer?.prototype, ['getRegistration', 'getRegistrations'], untilSettled)
  wrap(window.MediaDevices?.prototype, ['getUserMedia', 'enumerateDevices'], untilSettled)
  wrap(window.Blob?.prototype, ['text', 'arrayBuffer', 'bytes'], untilSettled)
  const untilLoaded = untilOneOf(['loadend'])
  wrap(
    window.FileReader?.prototype,
    ['readAsText', 'readAsArrayBuffer', 'readAsDataURL', 'readAsBinaryString'],
    (_result, reader) => untilLoaded(/** @type {FileReader} */ (reader)),
  )
  wrap(
    window.WebAssembly,
    ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'],
    untilSettled,
  )
  wrap(window, ['createImageBitmap', 'queryLocalFonts'], untilSettled)

  // Their scripts are waited for as those of the page: by the address is told which need not be any more.
  /** The addresses of workers. @type {WeakMap<object, string>} */
  const scripts = new WeakMap()
  /** @param {object} worker */
  const hasEnded = (worker) => tell(`ended ${scripts.get(worker)}`)
  /**
   * @param {'Worker' | 'SharedWorker'} name
   * @param {(worker: *) => EventTarget} speakerOf
   */
  const follow = (name, speakerOf) => {
    const Native = Reflect.get(window, name)
    if (Native === undefined) return
    const Followed = new Proxy(Native, {
      construct(target, given, newTarget) {
        const worker = Reflect.construct(target, given, newTarget)
        tell('worker')
        scripts.set(worker, new URL(given[0], document.baseURI).href.split('#', 1)[0] ?? '')
        addEventListener.call(worker, 'error', () => hasEnded(worker))
        const speaker = speakerOf(worker)
        speakers.add(speaker)
        addEventListener.call(speaker, 'message', () => tell('spoke'))
        return worker
      },
    })
    Object.defineProperty(window, name, { value: Followed, writable: true, configurable: true })
  }
  /** What workers are spoken to by. @type {WeakSet<object>} */
  const speakers = new WeakSet()
  const asked = (/** @type {unknown} */ _result, /** @type {object} */ self) => {
    if (speakers.has(self)) tell('asked')
  }
  follow('Worker', (worker) => worker)
  follow('SharedWorker', ({ port }) => port)
  wrap(window.Worker?.prototype, ['postMessage'], asked)
  wrap(window.Worker?.prototype, ['terminate'], (_result, worker) => hasEnded(worker))
  wrap(window.MessagePort?.prototype, ['postMessage'], asked)
})()
