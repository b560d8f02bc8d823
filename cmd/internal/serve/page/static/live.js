// The page without this is whole; with it, parts are replaced as they change.
"use strict";
(() => {
  const most = 1000; // events that are kept
  const pending = new Map(); // parts that wait until nobody is in them
  const live = document.getElementById("live");
  const events = document.getElementById("events");
  let source = null, lastID = "", wait = 1000, timer = 0;

  const say = (words) => { if (live && live.textContent !== words) live.textContent = words; };

  // A form that somebody has begun to fill in, or is about to use, stays as it is: what
  // is pressed must be what was seen.
  const inUse = (part) => {
    const form = part.querySelector("form");
    if (!form) return false;
    if (part.matches(":hover") || part.contains(document.activeElement)) return true;
    for (const field of part.querySelectorAll("input, textarea")) {
      if (field.type === "hidden") continue;
      if (field.type === "radio" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue) return true;
    }
    return false;
  };

  const put = (part, message) => {
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const unfolded = [...part.querySelectorAll("details[open]")].map((d) => d.id);
    const holder = document.createElement("template");
    holder.innerHTML = message.html;
    part.replaceChildren(holder.content);
    part.dataset.version = message.version;
    delete part.dataset.held;
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    if (message.title) document.title = message.title;
    count();
  };

  const take = (message) => {
    const part = document.getElementById("part-" + message.part);
    if (!part) return;
    pending.delete(message.part);
    if (part.dataset.version === message.version) { delete part.dataset.held; return; }
    if (inUse(part)) {
      pending.set(message.part, message);
      part.dataset.held = "";
      return;
    }
    put(part, message);
  };

  const release = () => {
    for (const message of [...pending.values()]) take(message);
  };

  const add = (html) => {
    if (!events) return;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    events.prepend(holder.content);
    while (events.childElementCount > most) events.lastElementChild.remove();
    const none = document.getElementById("no-events");
    if (none) none.hidden = events.childElementCount > 0;
  };

  const two = (n) => String(n).padStart(2, "0");
  const count = () => {
    for (const place of document.querySelectorAll("[data-until]")) {
      const left = Math.round((Date.parse(place.dataset.until) - Date.now()) / 1000);
      const hours = Math.floor(left / 3600), minutes = Math.floor(left / 60) % 60;
      const words = left <= 0 ? "(over)" : "(in " + (hours ? hours + ":" + two(minutes) : minutes) + ":" + two(left % 60) + ")";
      if (place.textContent !== words) place.textContent = words;
    }
  };

  const close = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  };

  const listen = () => {
    close();
    const url = new URL(document.body.dataset.stream, location.origin);
    if (lastID) url.searchParams.set("at", lastID);
    source = new EventSource(url);
    source.onopen = () => { wait = 1000; say("Live."); };
    source.addEventListener("part", (e) => take(JSON.parse(e.data)));
    source.addEventListener("events", (e) => { lastID = e.lastEventId; add(JSON.parse(e.data).html); });
    source.addEventListener("gone", () => { close(); say("The run is no longer there."); });
    source.addEventListener("trouble", () => say("The server cannot look at the moment."));
    source.onerror = () => {
      say("Not live: the connection is lost.");
      if (source && source.readyState === EventSource.CLOSED) {
        close();
        timer = setTimeout(listen, wait);
        wait = Math.min(wait * 2, 30000);
      }
    };
  };

  document.addEventListener("focusout", () => setTimeout(release, 0));
  document.addEventListener("mouseout", () => setTimeout(release, 0));
  // A browser has few connections to one server: a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : listen()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => { if (e.persisted) listen(); });
  setInterval(count, 1000);
  count();
  listen();
})();
