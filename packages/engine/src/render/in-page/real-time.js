// Databases, caches, cryptography and workers do not hold Chromium's virtual clock: report them to Node.
{
  const { begin, interceptPromises } = realTimeWork()
  /**
   * Calls `follow` with each call's result and object.
   * @param {object | undefined} owner @param {readonly string[]} names @param {(result: *, self: *) => void} follow
   */
  const followCalls = (owner, names, follow) => {
    for (const name of names) {
      intercept(owner, name, (native, self, given) => {
        const result = apply(native, self, given)
        follow(result, self)
        return result
      })
    }
  }

  // The clock stands until the last byte of a body has come, but may go on before the page has read it.
  let reading = 0
  const readEnded = () => {
    if (--reading === 0) report('read')
  }
  /** @param {Promise<unknown>} result */
  const untilRead = (result) => {
    if (++reading === 1) report('reading')
    then.call(result, readEnded, readEnded)
  }
  // A read piece by piece has no end: Node waits only briefly after the last byte.
  let draining = 0
  const drainEnded = () => {
    if (--draining === 0) report('drained')
  }
  /** @param {unknown} result */
  const untilDrained = (result) => {
    if (!(result instanceof Promise)) return
    if (++draining === 1) report('draining')
    then.call(result, drainEnded, drainEnded)
  }
  /** @param {readonly string[]} events @returns {(target: EventTarget) => void} */
  const untilOneOf = (events) => (target) => {
    const end = begin()
    for (const event of events) nativeListen.call(target, event, end)
  }

  const { IDBFactory, IDBDatabase, CacheStorage, Cache, SubtleCrypto, FileSystemDirectoryHandle } = window
  const bodies = ['json', 'text', 'arrayBuffer', 'blob', 'bytes', 'formData']
  followCalls(window.Response?.prototype, bodies, untilRead)
  followCalls(window.ReadableStreamDefaultReader?.prototype, ['read'], untilDrained)
  followCalls(window.ReadableStreamBYOBReader?.prototype, ['read'], untilDrained)
  followCalls(window.ReadableStream?.prototype, ['pipeTo'], untilDrained)
  followCalls(Object.getPrototypeOf(new ReadableStream().values()), ['next'], untilDrained)
  const untilOpen = untilOneOf(['success', 'error', 'blocked'])
  followCalls(IDBFactory?.prototype, ['open', 'deleteDatabase'], untilOpen)
  followCalls(IDBDatabase?.prototype, ['transaction'], untilOneOf(['complete', 'abort', 'error']))
  const untilLoaded = untilOneOf(['loadend'])
  const reads = ['readAsText', 'readAsArrayBuffer', 'readAsDataURL', 'readAsBinaryString']
  followCalls(window.FileReader?.prototype, reads, (_result, reader) => untilLoaded(reader))

  interceptPromises(IDBFactory?.prototype, ['databases'])
  interceptPromises(CacheStorage?.prototype, ['open', 'match', 'has', 'keys', 'delete'])
  interceptPromises(Cache?.prototype, ['add', 'addAll', 'match', 'matchAll', 'put', 'keys', 'delete'])
  interceptPromises(SubtleCrypto?.prototype, [
    'digest',
    'sign',
    'verify',
    'encrypt',
    'decrypt',
    'generateKey',
  ])
  interceptPromises(SubtleCrypto?.prototype, ['importKey', 'exportKey', 'deriveKey', 'deriveBits'])
  interceptPromises(SubtleCrypto?.prototype, ['wrapKey', 'unwrapKey'])
  interceptPromises(window.StorageManager?.prototype, ['estimate', 'getDirectory', 'persist', 'persisted'])
  interceptPromises(FileSystemDirectoryHandle?.prototype, ['getFileHandle', 'getDirectoryHandle'])
  interceptPromises(FileSystemDirectoryHandle?.prototype, ['removeEntry'])
  interceptPromises(window.FileSystemFileHandle?.prototype, ['getFile', 'createWritable'])
  interceptPromises(window.Permissions?.prototype, ['query'])
  interceptPromises(Reflect.get(window, 'NavigatorUAData')?.prototype, ['getHighEntropyValues'])
  interceptPromises(Reflect.get(window, 'CookieStore')?.prototype, ['get', 'getAll', 'set', 'delete'])
  interceptPromises(window.ServiceWorkerContainer?.prototype, ['getRegistration', 'getRegistrations'])
  interceptPromises(window.MediaDevices?.prototype, ['getUserMedia', 'enumerateDevices'])
  interceptPromises(window.Blob?.prototype, ['text', 'arrayBuffer', 'bytes'])
  interceptPromises(window.WebAssembly, [
    'compile',
    'compileStreaming',
    'instantiate',
    'instantiateStreaming',
  ])
  interceptPromises(window, ['createImageBitmap', 'queryLocalFonts'])

  /** The addresses of workers. Node waits for their scripts. @type {WeakMap<object, string>} */
  const scripts = new WeakMap()
  /** @param {object} worker */
  const hasEnded = (worker) => report(`ended ${scripts.get(worker)}`)
  /** Workers and the ports to them. @type {WeakSet<object>} */
  const ports = new WeakSet()
  /** @param {'Worker' | 'SharedWorker'} name @param {(worker: *) => EventTarget} portOf */
  const followWorkers = (name, portOf) => {
    const Native = Reflect.get(window, name)
    if (Native === undefined) return
    const Followed = new Proxy(Native, {
      construct(target, given, newTarget) {
        const worker = Reflect.construct(target, given, newTarget)
        report('worker')
        scripts.set(worker, new URL(given[0], document.baseURI).href.split('#', 1)[0] ?? '')
        nativeListen.call(worker, 'error', () => hasEnded(worker))
        const port = portOf(worker)
        ports.add(port)
        nativeListen.call(port, 'message', () => report('spoke'))
        return worker
      },
    })
    Object.defineProperty(window, name, { value: Followed, writable: true, configurable: true })
  }
  /** @param {unknown} _result @param {object} self */
  const asked = (_result, self) => {
    if (ports.has(self)) report('asked')
  }
  followWorkers('Worker', (worker) => worker)
  followWorkers('SharedWorker', ({ port }) => port)
  followCalls(window.Worker?.prototype, ['postMessage'], asked)
  followCalls(window.Worker?.prototype, ['terminate'], (_result, worker) => hasEnded(worker))
  followCalls(window.MessagePort?.prototype, ['postMessage'], asked)
}
// Another process answers these calls (locks, passkeys) in real time, without holding the virtual clock.
{
  const { begin, interceptPromises } = realTimeWork()
  // Excludes calls that wait for a person, such as sign-in and device choice.
  const AVAILABLE = ['availability', 'create']
  const OF_INSTANCES = {
    CredentialsContainer: ['preventSilentAccess'],
    Document: ['browsingTopics', 'hasPrivateToken', 'hasStorageAccess', 'hasUnpartitionedCookieAccess'],
    FileSystemDirectoryHandle: ['resolve'],
    GPU: ['requestAdapter'],
    HID: ['getDevices'],
    Keyboard: ['getLayoutMap'],
    LockManager: ['query'],
    MediaCapabilities: ['decodingInfo', 'encodingInfo'],
    Navigator: ['getBattery', 'getInstalledRelatedApps', 'requestMediaKeySystemAccess'],
    OfflineAudioContext: ['startRendering'],
    BaseAudioContext: ['decodeAudioData'],
    PaymentRequest: ['canMakePayment', 'hasEnrolledInstrument'],
    Serial: ['getPorts'],
    USB: ['getDevices'],
    XRSystem: ['isSessionSupported'],
  }
  const OF_INTERFACES = {
    AudioDecoder: ['isConfigSupported'],
    AudioEncoder: ['isConfigSupported'],
    ImageDecoder: ['isTypeSupported'],
    LanguageDetector: AVAILABLE,
    LanguageModel: AVAILABLE,
    PublicKeyCredential: [
      'getClientCapabilities',
      'isConditionalMediationAvailable',
      'isUserVerifyingPlatformAuthenticatorAvailable',
    ],
    Summarizer: AVAILABLE,
    VideoDecoder: ['isConfigSupported'],
    VideoEncoder: ['isConfigSupported'],
  }
  for (const [name, methods] of Object.entries(OF_INSTANCES))
    interceptPromises(Reflect.get(window, name)?.prototype, methods)
  for (const [name, methods] of Object.entries(OF_INTERFACES))
    interceptPromises(Reflect.get(window, name), methods)
  const directory = window.FileSystemDirectoryHandle?.prototype
  let areEntriesWatched = false
  for (const name of ['keys', 'values', 'entries', Symbol.asyncIterator]) {
    intercept(directory, name, (native, self, given) => {
      const iterator = apply(native, self, given)
      if (!areEntriesWatched) interceptPromises(Object.getPrototypeOf(iterator), ['next'])
      areEntriesWatched = true
      return iterator
    })
  }

  // Wait until the page has the lock, not until its release: some are held for ever.
  intercept(window.LockManager?.prototype, 'request', (native, self, given) => {
    const answered = begin()
    const use = given.at(-1)
    const rest = given.slice(0, -1)
    /** @param {unknown} lock */
    const granted = (lock) => {
      answered()
      return use(lock)
    }
    const ends = apply(native, self, typeof use === 'function' ? [...rest, granted] : given)
    then.call(ends, answered, answered)
    return ends
  })

  intercept(
    window.Geolocation?.prototype,
    'getCurrentPosition',
    (native, self, [success, failure, ...rest]) => {
      const answered = begin()
      /** @param {unknown} use */
      const ending = (use) =>
        typeof use === 'function'
          ? (/** @type {unknown[]} */ ...told) => {
              answered()
              return use(...told)
            }
          : use === undefined
            ? answered
            : use
      return apply(native, self, [ending(success), ending(failure), ...rest])
    },
  )
}
