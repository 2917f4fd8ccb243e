// Runs first in every document, beside real-time.js. What a page asks of the
// browser itself (for a lock, whether there are passkeys) is answered by another process, in real time and without holding
// Chromium's virtual clock: each question is told to Node with its answer.
;(() => {
  const { then } = Promise.prototype
  const { apply } = Reflect
  /** @type {(word: string) => void} */
  const tell = Reflect.get(window, 'prepaintTell') ?? (() => {})

  let open = 0
  /** A question has been asked. Gives what is to be called with its answer; once counts. */
  const asked = () => {
    if (++open === 1) tell('busy')
    let isOpen = true
    return () => {
      if (isOpen && --open === 0) tell('idle')
      isOpen = false
    }
  }
  /** @param {unknown} answer */
  const untilSettled = (answer) => {
    if (!(answer instanceof Promise)) return
    const answered = asked()
    then.call(answer, answered, answered)
  }

  /**
   * @param {object | undefined} owner @param {string | symbol} name
   * @param {(native: Function, self: *, given: *[]) => unknown} as
   */
  const replace = (owner, name, as) => {
    const native = owner && Object.getOwnPropertyDescriptor(owner, name)
    if (typeof native?.value !== 'function') return
    const value = new Proxy(native.value, { apply: (target, self, given) => as(target, self, given) })
    Object.defineProperty(/** @type {object} */ (owner), name, { ...native, value })
  }
  /** @param {object | undefined} owner @param {readonly string[]} names */
  const watch = (owner, names) => {
    for (const name of names) {
      replace(owner, name, (native, self, given) => {
        const answer = apply(native, self, given)
        untilSettled(answer)
        return answer
      })
    }
  }

  // Not among them what waits for a person, for ever: signing in, a device that is chosen, sound that may be played.
  const AVAILABLE = ['availability', 'create']
  /** Methods of instances, by interface. */
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
  /** Methods of the interface itself. */
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
    watch(Reflect.get(window, name)?.prototype, methods)
  for (const [name, methods] of Object.entries(OF_INTERFACES)) watch(Reflect.get(window, name), methods)
  // A directory tells its entries one by one.
  const directory = window.FileSystemDirectoryHandle?.prototype
  let areEntriesWatched = false
  for (const name of ['keys', 'values', 'entries', Symbol.asyncIterator]) {
    replace(directory, name, (native, self, given) => {
      const iterator = apply(native, self, given)
      if (!areEntriesWatched) watch(Object.getPrototypeOf(iterator), ['next'])
      areEntriesWatched = true
      return iterator
    })
  }

  // A lock is asked for until it is had, not until it is given back: some are held for ever.
  replace(window.LockManager?.prototype, 'request', (native, self, given) => {
    const answered = asked()
    const use = given.at(-1)
    const rest = given.slice(0, -1)
    /** @param {unknown} lock */
    const had = (lock) => {
      answered()
      return use(lock)
    }
    const ends = apply(native, self, typeof use === 'function' ? [...rest, had] : given)
    then.call(ends, answered, answered)
    return ends
  })

  // Answered by a function that was given.
  replace(
    window.Geolocation?.prototype,
    'getCurrentPosition',
    (native, self, [success, failure, ...rest]) => {
      const answered = asked()
      /** @param {unknown} use */
      const then = (use) =>
        typeof use === 'function'
          ? (/** @type {unknown[]} */ ...told) => {
              answered()
              return use(...told)
            }
          : use === undefined
            ? answered
            : use
      return apply(native, self, [then(success), then(failure), ...rest])
    },
  )
})()
