// Connections between browsers bypass the proxy (the browser's flags close them too). The page sees one that finds no way.
if (window.RTCPeerConnection) {
  const { EventTarget, DOMException, RTCPeerConnection: Native } = window
  const SDP = 'v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n'

  class RTCDataChannel extends EventTarget {
    readyState = 'connecting'
    bufferedAmount = 0
    bufferedAmountLowThreshold = 0
    binaryType = 'arraybuffer'
    id = null
    onopen = null
    onclose = null
    onmessage = null
    onerror = null
    /** @param {unknown} label @param {RTCDataChannelInit} [options] */
    constructor(label, options = {}) {
      super()
      this.label = `${label}`
      this.ordered = options.ordered ?? true
      this.protocol = options.protocol ?? ''
      this.negotiated = options.negotiated ?? false
      this.maxPacketLifeTime = options.maxPacketLifeTime ?? null
      this.maxRetransmits = options.maxRetransmits ?? null
    }
    send() {
      throw new DOMException('The channel is not open', 'InvalidStateError')
    }
    close() {
      this.readyState = 'closed'
    }
  }

  class RTCPeerConnection extends EventTarget {
    static generateCertificate = Native.generateCertificate
    signalingState = 'stable'
    iceConnectionState = 'new'
    iceGatheringState = 'new'
    connectionState = 'new'
    canTrickleIceCandidates = null
    /** @type {unknown} */ localDescription = null
    /** @type {unknown} */ remoteDescription = null
    /** @type {unknown} */ currentLocalDescription = null
    /** @type {unknown} */ currentRemoteDescription = null
    /** @type {unknown} */ pendingLocalDescription = null
    /** @type {unknown} */ pendingRemoteDescription = null
    sctp = null
    onnegotiationneeded = null
    onicecandidate = null
    onicecandidateerror = null
    onsignalingstatechange = null
    oniceconnectionstatechange = null
    onicegatheringstatechange = null
    onconnectionstatechange = null
    ontrack = null
    ondatachannel = null
    onaddstream = null
    onremovestream = null
    /** @type {RTCConfiguration} */ #configuration
    /** @type {object[]} */ #senders = []

    /** @param {RTCConfiguration} [configuration] */
    constructor(configuration = {}) {
      super()
      this.#configuration = { ...configuration }
    }
    getConfiguration() {
      return { ...this.#configuration }
    }
    /** @param {RTCConfiguration} configuration */
    setConfiguration(configuration) {
      this.#configuration = { ...configuration }
    }
    /** @param {unknown} label @param {RTCDataChannelInit} [options] */
    createDataChannel(label, options) {
      return new RTCDataChannel(label, options)
    }
    createOffer() {
      return Promise.resolve({ type: 'offer', sdp: SDP })
    }
    createAnswer() {
      return Promise.resolve({ type: 'answer', sdp: SDP })
    }
    /** @param {unknown} [description] */
    setLocalDescription(description = { type: 'offer', sdp: SDP }) {
      this.localDescription = description
      return Promise.resolve()
    }
    /** @param {unknown} description */
    setRemoteDescription(description) {
      this.remoteDescription = description
      return Promise.resolve()
    }
    addIceCandidate() {
      return Promise.resolve()
    }
    restartIce() {}
    getSenders() {
      return [...this.#senders]
    }
    getReceivers() {
      return []
    }
    getTransceivers() {
      return []
    }
    /** @param {unknown} [track] */
    addTrack(track = null) {
      const dtmf = null
      const sender = { track, dtmf, getParameters: () => ({}), replaceTrack: () => Promise.resolve() }
      this.#senders = [...this.#senders, sender]
      return sender
    }
    /** @param {object} sender */
    removeTrack(sender) {
      this.#senders = this.#senders.filter((one) => one !== sender)
    }
    addTransceiver() {
      const sender = this.addTrack()
      return {
        mid: null,
        sender,
        receiver: { track: null },
        direction: 'sendrecv',
        stopped: false,
        stop() {},
      }
    }
    addStream() {}
    removeStream() {}
    getStats() {
      return Promise.resolve(new Map())
    }
    close() {
      this.signalingState = 'closed'
      this.iceConnectionState = 'closed'
      this.connectionState = 'closed'
    }
  }

  for (const [name, own] of Object.entries({ RTCPeerConnection, RTCDataChannel })) {
    const value = asNative(own)
    Object.defineProperty(own.prototype, Symbol.toStringTag, { value: name, configurable: true })
    Object.defineProperty(own.prototype, 'constructor', { value })
    Object.defineProperty(window, name, { value, writable: true, configurable: true })
  }
  if ('webkitRTCPeerConnection' in window)
    Object.defineProperty(window, 'webkitRTCPeerConnection', {
      value: window.RTCPeerConnection,
      writable: true,
      configurable: true,
    })
  Reflect.deleteProperty(window, 'WebTransport')
}
