"use strict";
(() => {
  // The differences of a comparison, else every step.
  let stops = [...document.querySelectorAll(".stop:not(.pair)")];
  if (!stops.length) stops = [...document.querySelectorAll(".stop")];
  let now = -1;
  const stand = (place) => {
    if (!stops.length) return;
    stops[now]?.classList.remove("now");
    now = Math.max(0, Math.min(stops.length - 1, place));
    stops[now].classList.add("now");
    stops[now].querySelector("summary").focus({ preventScroll: true });
    stops[now].scrollIntoView({ block: "nearest" });
    if (stops[now].getBoundingClientRect().top < 0) stops[now].scrollIntoView();
  };
  // The first `most` messages of a list; a row that stands for several counts as many.
  const messages = (list, most) => {
    const out = document.createDocumentFragment();
    for (const row of list.children) {
      if (most <= 0) break;
      const copy = row.cloneNode(true);
      const stands = Number(row.dataset.n);
      if (stands > most) copy.dataset.n = copy.dataset.first = String(most);
      most -= stands;
      out.append(copy);
    }
    return out;
  };
  const fill = (details) => {
    const source = document.getElementById(details.dataset.of);
    if (!source || details.dataset.filled) return;
    details.dataset.filled = "yes";
    const box = document.createElement("div");
    if (details.dataset.first) box.append(messages(source, Number(details.dataset.first)));
    else box.append(...[...source.childNodes].map((node) => node.cloneNode(true)));
    for (const named of box.querySelectorAll("[id]")) named.removeAttribute("id");
    for (const copied of box.querySelectorAll("[data-filled]")) delete copied.dataset.filled;
    details.querySelector(":scope > p.none")?.remove();
    details.append(box);
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset?.of) fill(event.target);
  }, true);
  // Where a link leads, everything around it opens.
  const arrive = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const place = stops.indexOf(target.closest(".stop"));
    if (place >= 0) stand(place);
    target.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.hash === location.hash) arrive();
    const stop = event.target.closest(".stop > summary")?.parentElement;
    if (stop && stops.includes(stop)) {
      stops[now]?.classList.remove("now");
      now = stops.indexOf(stop);
      stop.classList.add("now");
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key;
    if (key === "j" || key === "ArrowDown") stand(now + 1);
    else if (key === "k" || key === "ArrowUp") stand(now - 1);
    else if (key === "o") {
      const open = !stops.every((stop) => stop.open);
      for (const stop of stops) stop.open = open;
    } else if (key === "Enter" && now >= 0 && document.activeElement === document.body) {
      stops[now].open = !stops[now].open;
    } else return;
    event.preventDefault();
  });
  arrive();
})();
